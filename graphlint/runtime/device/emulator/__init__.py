"""The emulator as witness: torch answers as if it had a CUDA device, and tensors of the CPU play its memory."""
