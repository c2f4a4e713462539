"""libcst trees in, compact forms out: it reads syntax of later releases than the Python that runs."""
