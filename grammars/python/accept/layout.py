
  # a comment before everything

if a:
  b
  # deeper, and then not so deep
 # a comment
  c

elif d:
        if e:
             f

             g
        h
else:
	tab
	if i:
		j


value = [
1,
    2,  # a comment in brackets

  (3
)]
total = 1 + \
   2 \
 + 3

def f(
    a,
):
    """Text
over lines
"""; return a
if k: l; m
# the last line has no line break
if n:
    o
