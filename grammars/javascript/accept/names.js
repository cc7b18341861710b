var async, of, get, set, let_, from, as, target, meta, $, _, $1, naïve, 变量, \u0061b, a\u{62};
async = get; of(set); from.as; static_; let yield_ = await_;
async (x); async
x => x
get: set: of;
for (of of of) ;
