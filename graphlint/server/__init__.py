"""The language server: what `check` says of a project, in editors, as its files are typed.

`worker` looks at the project in a process of its own, which remembers what it has lowered; `language` speaks the
protocol with the editor (pygls does, from the extra `server`); `shown` says findings in the protocol's terms;
`comments` finds the comment that suppresses one. Texts that are not saved yet stand for the files on the disk.
"""
