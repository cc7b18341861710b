f()
/a regex begins no statement here/.test(b)
