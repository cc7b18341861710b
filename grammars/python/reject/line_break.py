x = 'abc
'
