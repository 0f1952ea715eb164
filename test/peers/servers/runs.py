"""Prints the holding registers of an image.json, one line for each run of neighbours: the address, then the words.

usage: runs.py IMAGE
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    words = {int(address): word for address, word in json.load(file)["holding"].items()}
line = []
for address in sorted(words):
    if address - 1 not in words:
        if line:
            print(*line)
        line = [address]
    line.append(words[address])
print(*line)
