"""Which host state regions read and change, and where else the program writes it: between a capture and its replays.

`traces` follows numbers through the functions of a region, from the state that is read to what it decides; `stores`
finds the statements that write; `timing` says when those run; `judged` puts them together, once all regions have run.
Imports `syntax`, `index`, `domain` and `models`' protocol alone.
"""
