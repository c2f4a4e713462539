"""The device as witness: a real capture, its nodes, its addresses, its replays.

The driver is asked through `cuda-bindings` where structures are filled, and through ctypes where a watch cannot do
without an answer; launches are heard of through CUPTI, and what lies where, torch's allocator tells.
"""
