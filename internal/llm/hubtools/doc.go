// Package hubtools provides the tools of a hub for language models: those of a Toolbox, with which
// a model finds agents, calls them, follows their tasks, stores notes and asks people, and those of
// a Bridge, one for each skill of each agent.
//
// # Overview
//
// Toolbox and Bridge are llm.Sources. Their tools call a hub over HTTP (package hubclient); the
// tools of a Bridge may also call a single A2A agent (package tools).
//
//	hub := &hubclient.Hub{URL: "http://127.0.0.1:4100"}
//	box := &hubtools.Toolbox{Hub: hub, Session: "my-session"}
//	list, err := box.Tools(ctx)
//	skills, err := hubtools.Of(box).Tools(ctx)
//
// # Guarantees
//
// Arguments are read strictly: an error names the field, the valid values, and similar names.
// No agent calls itself. A call that is repeated with the same llm.Call.ID in the same session
// joins the first one. Text of cards and agents is labelled and screened (package guard).
//
// The name of a skill's tool, a2a__{agent}__{skill}, belongs to one skill. It has lower-case
// letters and digits, with "_" for every run of other characters. Names over 64 characters are cut
// and get a hash. Equal names all get a hash, so a new agent never takes over the name of another.
//
// # Non-guarantees
//
// No tool checks its caller: the program that offers it does. Bridge.Run reads the cards at
// intervals; an agent that does not answer keeps its previous tools.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. Bridge.Run is called once.
package hubtools
