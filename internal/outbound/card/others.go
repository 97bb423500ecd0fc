package card

import (
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Members that cards of any layout have, and members that only the hub writes.
var (
	topReserved = rawjson.Reserved{
		"name", "agentName", "description", "version", "provider", "iconUrl", "documentationUrl", "capabilities", "skills",
		"defaultInputModes", "defaultOutputModes", "signatures", "securitySchemes", "securityRequirements", "security",
		"supportedInterfaces", "url", "preferredTransport", "additionalInterfaces", "protocolVersion",
		"supportsAuthenticatedExtendedCard", "supportsStreaming",
	}
	capabilitiesReserved = rawjson.Reserved{
		"streaming", "pushNotifications", "extensions", "extendedAgentCard", "stateTransitionHistory",
	}
	skillReserved = rawjson.Reserved{
		"id", "name", "description", "tags", "examples", "inputModes", "outputModes", "securityRequirements", "security",
	}
)

// maxOthers is the largest size in bytes of a card's members that the protocol does not define.
const maxOthers = 64 << 10

// Others returns the members of a card that the protocol does not define, for Options.Others.
// It is an object with the objects "card", "capabilities" and "skills"; the last one has an
// object for each skill id. Others returns nil if there are no such members, or if they are too
// large.
func Others(raw []byte) []byte {
	var all, skills a2ajson.Others
	var capabilities []byte
	add := func(to *a2ajson.Others, name string, b []byte) {
		if b != nil {
			to.Add(name, b)
		}
	}
	for name, v := range rawjson.Fields(raw) {
		switch name {
		case "capabilities":
			capabilities = unknown(v, capabilitiesReserved)
		case "skills":
			for s := range rawjson.Elements(v) {
				id, _ := rawjson.String(rawjson.Member(s, "id"))
				add(&skills, id, unknown(s, skillReserved))
			}
		}
	}
	add(&all, "card", unknown(raw, topReserved))
	add(&all, "capabilities", capabilities)
	add(&all, "skills", skills.Object())
	if b := all.Object(); len(b) <= maxOthers {
		return b
	}
	return nil
}

// unknown returns the members of an object that are not reserved; nil if there are none.
func unknown(obj []byte, known rawjson.Reserved) []byte {
	var o a2ajson.Others
	for name, v := range rawjson.Fields(obj) {
		if !known.Has(name) {
			o.Add(name, v)
		}
	}
	return o.Object()
}

// withOthers returns a document with the members of others inserted in their places.
func withOthers(doc, others []byte) []byte {
	if len(others) == 0 {
		return doc
	}
	out := append(make([]byte, 0, len(doc)+len(others)), '{')
	for name, v := range rawjson.Fields(doc) {
		switch name {
		case "capabilities":
			v = inside(v, rawjson.Member(others, name))
		case "skills":
			v = withSkillOthers(v, rawjson.Member(others, name))
		}
		out = rawjson.AppendMember(out, name, v)
	}
	return inside(append(out, '}'), rawjson.Member(others, "card"))
}

func withSkillOthers(skills, others []byte) []byte {
	if others == nil {
		return skills
	}
	byID := make(map[string][]byte)
	for id, v := range rawjson.Fields(others) {
		byID[id] = v
	}
	out := []byte{'['}
	for s := range rawjson.Elements(skills) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		id, _ := rawjson.String(rawjson.Member(s, "id"))
		out = append(out, inside(s, byID[id])...)
	}
	return append(out, ']')
}

// inside returns obj with the members of more appended. It returns obj unchanged if either
// object is empty.
func inside(obj, more []byte) []byte {
	if len(more) <= len("{}") || len(obj) <= len("{}") {
		return obj
	}
	out := append(make([]byte, 0, len(obj)+len(more)), obj[:len(obj)-1]...)
	return append(append(out, ','), more[1:]...)
}
