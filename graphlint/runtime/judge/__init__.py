"""What a watch saw in, what is wrong about it out.

Effects and causes are named here, and become findings by the rulebook. Each module judges one thing: causes of
refusals, memory, host state, inputs, outputs, training, graphed callables. Imports `watch`, `compare`, `device` and
`trace`.
"""
