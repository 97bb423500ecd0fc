// Package skilltools gives a language model one tool for each skill of each agent.
//
//	tools, err := skilltools.Of(toolbox).Tools(ctx)
//
// # Overview
//
// A Bridge is an llm.Source for the agents of a Source. The tool of a skill is named
// a2a__{agent}__{skill}. It accepts a query, and images or audio if the skill or its agent
// does, and returns {response, media_url, media_type}. The Source is a hub (package hubclient)
// or a single A2A agent (package tools).
//
// # Guarantees
//
// A name belongs to one skill. It has lower-case letters and digits, with "_" for every run of
// other characters. Names over 64 characters are cut and get a hash. Equal names all get a
// hash, so a new agent never takes over the name of another one. Text of cards and agents is
// labelled and screened (package guard).
//
// # Non-guarantees
//
// Run reads the cards at the interval Refresh. An agent that does not answer keeps its previous
// tools.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. Run is called once.
package skilltools
