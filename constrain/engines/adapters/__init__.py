"""Frameworks for applications: `constrain.generate` behind the interfaces of LangChain and Pydantic AI.

takes: a model as `constrain.generate` takes it; messages, tools and schemas of the framework
gives: the framework's own chat model; its outputs are constrained
start reading at: langchain.py

Importing this package imports no framework; each file imports its own.
"""
