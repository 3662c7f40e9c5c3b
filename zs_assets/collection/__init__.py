"""Collection asks every planned question once and loses nothing: journal, limits, budget, retries, compaction."""

from zs_assets.collection.collected import Collected, Progress
from zs_assets.collection.collector import collect
from zs_assets.collection.journal_header import JournalHeader
from zs_assets.collection.journal_totals import journalled_replies, journalled_usd
from zs_assets.collection.pace import Share
from zs_assets.collection.pricing import Estimate, estimate

__all__ = [
    "Collected",
    "Estimate",
    "JournalHeader",
    "Progress",
    "Share",
    "collect",
    "estimate",
    "journalled_replies",
    "journalled_usd",
]
