"""All that `check` reads of the disk goes through here, so that what an answer depends on can be kept beside it.

`reads` has the one function for each way of reading, `questions` what is asked of files that are searched and not read,
`record` what a run has read and been told, `notebooks` and `tokens` what is made of a text. Imports nothing of
graphlint, and nothing that takes time to load.
"""
