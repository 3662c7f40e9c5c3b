"""Local stand-ins of the systems of the studies, for rehearsals and tests: same wire, no key, no cost.

profiles.py says how each system behaves, decider.py what it decides, *_wire.py how it is asked and answers, faults.py
and disturbances.py how it fails. server.py serves any of them. Imports protocol and the backends' codecs only.
"""
