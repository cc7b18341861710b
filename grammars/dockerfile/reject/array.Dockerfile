FROM a
VOLUME ["a",]
