"""Tests whether scripts can run on this node. Gybe runs it when it starts."""

import pickle
import sys

if pickle.load(sys.stdin.buffer) != {"ready": True}:
    sys.exit("the input did not arrive")
