// Package skilltools gives a language model one tool for each skill of each agent.
//
//	agent, err := skilltools.Dial(ctx, &skilltools.Config{URL: "https://agents.example.org/research"})
//	tools, err := agent.Bridge().Tools(ctx)
//
// # What it is
//
// A Bridge is an llm.Source over the agents of a Directory. The tool of a skill is called
// a2a__{agent}__{skill}; it takes a query, and images or sounds if the skill or its agent
// does, and gives {response, media_url, media_type}. The Directory is a hub (package
// hubtools) or a single A2A agent at any URL (Agent).
//
// # Guarantees
//
// A name means one skill: small letters and digits, with "_" for every run of others. Names
// over 64 characters are cut and get a hash, and so does each of those that would be the
// same, so that a further agent never takes over the name of another one. What cards and
// agents say is labelled and screened (package safety). A message is sent again only if
// nobody can have accepted it.
//
// # What it does not promise
//
// Cards are read as often as Refresh says, while Run runs; an agent that does not answer
// keeps the tools that it had.
//
// # Concurrency
//
// Everything is safe for concurrent use once its fields are set. Run is called once.
//
// # Testing
//
// The tests run against the mock, and package hubtools against a hub.
package skilltools
