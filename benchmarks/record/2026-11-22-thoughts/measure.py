import sys, constrain, time, random, numpy as np, statistics
V=constrain.Vocabulary.from_tiktoken(sys.argv[1], special_tokens={"<|eot_id|>":128009,"<think>":128100,"</think>":128101}, eos_ids=[128009], size=128256)
rng=random.Random(1)
words=[i for i,t in enumerate(V.tokens) if t and t.startswith(b" ") and t[1:].isalpha() and t.isascii()]
toks=[rng.choice(words) for _ in range(3000)]
ans=constrain.json_schema({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":False})
T=constrain.token
cases={"text, no budget":constrain.after("</think>",ans),
 "text, 4000 tokens":constrain.after("</think>",ans,max_tokens=4000),
 "token, no budget":constrain.after(T("</think>"),ans),
 "token, 4000 tokens":constrain.after(T("</think>"),ans,max_tokens=4000),
 "any_tokens(most=4000)":constrain.seq(constrain.tags.any_tokens(but=["</think>"],most=4000),T("</think>"),ans)}
row=np.zeros(V.words,np.uint32)
C={k:constrain.compile(c,V) for k,c in cases.items()}
res={k:[] for k in C}
for rep in range(4):
    for k,c in C.items():
        m=c.matcher(); m.fill_mask(row); t=time.process_time()
        for x in toks:
            assert m.advance(x); m.fill_mask(row)
        res[k].append((time.process_time()-t)/len(toks)*1e6)
for k,v in res.items(): print(f"{k:26s} first {v[0]:8.1f} µs, then {statistics.median(v[1:]):7.1f} µs a token (advance + mask)")
