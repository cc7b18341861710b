
x = 1

def g():
    pass
def h(): pass
    # c