package directory

import "github.com/parley-a2a/parley/internal/bm25"

// Kinds of documents in the search index.
const (
	agentKind   = "a2a"
	serviceKind = "mcp"
)

// Service is an MCP server listed in the search index.
type Service struct {
	// ID identifies the service. It is required.
	ID string `json:"id"`
	// Summary describes the purpose of the service.
	Summary string `json:"summary,omitempty"`
	// Tools are the tools of the service.
	Tools []Tool `json:"tools,omitempty"`
}

// Tool is a tool of a Service.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// PutService adds a service to the search index or replaces it.
func (d *Directory) PutService(s *Service) { d.index.Put(s.document()) }

func documentID(kind, name string) string { return kind + ":" + name }

// document returns the search document of a service.
func (s *Service) document() *bm25.Document {
	d := &bm25.Document{ID: documentID(serviceKind, s.ID), Kind: serviceKind, Name: s.ID, Summary: s.Summary}
	for _, t := range s.Tools {
		d.Skills = append(d.Skills, bm25.Skill{ID: t.Name, Description: t.Description})
	}
	return d
}

// document returns the search document of an agent.
func (e *Entry) document() *bm25.Document {
	d := &bm25.Document{ID: documentID(agentKind, string(e.Name())), Kind: agentKind, Name: string(e.Name()), Summary: e.Description}
	if NameOf(e.Title) != e.Name() {
		d.Title = e.Title
	}
	for i := range e.Skills {
		s := &e.Skills[i]
		d.Skills = append(d.Skills, bm25.Skill{ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples})
	}
	return d
}
