"""The device as witness: a real capture, its nodes, its addresses, its replays."""
