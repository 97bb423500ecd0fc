package signature

// The tables of this file list the fields of the messages of a card, and those that are kept
// even with their default value (specification §4.4, §8.4.1).

// message is the fields of a message.
type message map[string]field

// field describes a field of a message. The zero field is omitted if it has its default value.
type field struct {
	// always is set for a field that is REQUIRED or optional, which is kept if present.
	always bool
	// in is the fields of the message in the field, in its list, or in the values of its map.
	in message
	// mapped is set if in describes the values of a map instead of the value itself.
	mapped bool
}

var (
	plain = field{}
	stays = field{always: true}
)

func one(m message) field  { return field{always: true, in: m} }
func list(m message) field { return field{in: m} }
func byName(m message) field {
	return field{in: m, mapped: true}
}

func (f field) required() field {
	f.always = true
	return f
}

var requirementFields = message{"schemes": byName(message{"list": plain})}

var flowFields = message{
	"authorizationUrl": stays, "deviceAuthorizationUrl": stays, "tokenUrl": stays, "refreshUrl": plain,
	"scopes": stays, "pkceRequired": plain,
}

// looseFlowFields are the fields of the flows with fewer required fields.
var looseFlowFields = message{"authorizationUrl": plain, "tokenUrl": plain, "refreshUrl": plain, "scopes": plain}

var schemeFields = message{
	"apiKeySecurityScheme":        one(message{"description": plain, "location": stays, "name": stays}),
	"httpAuthSecurityScheme":      one(message{"description": plain, "scheme": stays, "bearerFormat": plain}),
	"openIdConnectSecurityScheme": one(message{"description": plain, "openIdConnectUrl": stays}),
	"mtlsSecurityScheme":          one(message{"description": plain}),
	"oauth2SecurityScheme": one(message{
		"description": plain, "oauth2MetadataUrl": plain,
		"flows": one(message{
			"authorizationCode": one(flowFields), "clientCredentials": one(flowFields), "deviceCode": one(flowFields),
			"implicit": one(looseFlowFields), "password": one(looseFlowFields),
		}),
	}),
}

var agentCard = message{
	"name": stays, "description": stays, "version": stays, "documentationUrl": stays, "iconUrl": stays,
	"provider": one(message{"url": stays, "organization": stays}),
	"supportedInterfaces": list(message{
		"url": stays, "protocolBinding": stays, "tenant": plain, "protocolVersion": stays,
	}).required(),
	"capabilities": one(message{
		"streaming": stays, "pushNotifications": stays, "extendedAgentCard": stays,
		"extensions": list(message{"uri": plain, "description": plain, "required": plain, "params": stays}),
	}),
	"securitySchemes":      byName(schemeFields),
	"securityRequirements": list(requirementFields),
	"defaultInputModes":    stays,
	"defaultOutputModes":   stays,
	"skills": list(message{
		"id": stays, "name": stays, "description": stays, "tags": stays, "examples": plain,
		"inputModes": plain, "outputModes": plain, "securityRequirements": list(requirementFields),
	}).required(),
}

// strip returns obj without unknown fields and without fields that have their default value.
func (m message) strip(obj map[string]any) map[string]any {
	out := make(map[string]any, len(obj))
	for name, v := range obj {
		f, known := m[name]
		if !known || v == nil {
			continue
		}
		if v = f.strip(v); f.always || !isDefault(v) {
			out[name] = v
		}
	}
	return out
}

func (f field) strip(v any) any {
	if f.in == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if !f.mapped {
			return f.in.strip(v)
		}
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = f.element(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = f.element(e)
		}
		return out
	}
	return v
}

// element strips an element of a map or list.
func (f field) element(v any) any {
	if obj, ok := v.(map[string]any); ok {
		return f.in.strip(obj)
	}
	return v
}

// isDefault reports whether v is the default value of a field.
func isDefault(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil
}
