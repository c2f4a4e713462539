"""What a watch saw in, what is wrong about it out."""
