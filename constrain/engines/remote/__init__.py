"""Models behind servers that speak OpenAI's protocol. The function of this package is `constrain.remote`.

takes: the address of a server, a request of `generate`
gives: whole texts, checked here; what was left to the server stands in a report
start reading at: model.py, then servers.py and call.py
"""
