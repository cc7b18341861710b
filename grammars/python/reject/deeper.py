if a:
  b
   c
