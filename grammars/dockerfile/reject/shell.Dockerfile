FROM a
SHELL sh -c
