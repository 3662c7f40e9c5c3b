from zs_assets.cli import main

main()
