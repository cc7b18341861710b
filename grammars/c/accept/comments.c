/**/int/* a */x // to the end \
   and one more line
; /* several
lines * / ** */ int y;
#define Z 1 // of the line
  #  pragma once
