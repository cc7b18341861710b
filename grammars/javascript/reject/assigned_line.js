a /* over
lines */ /=b c/.test(d)
