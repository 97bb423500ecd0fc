package awaken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// The types of crate awaken-protocol-a2a. A pointer without omitempty is a required member; the
// others have a default there.
type (
	card struct {
		Name                *string
		Description         *string
		SupportedInterfaces []iface
		Version             *string
		Capabilities        *capabilities
		DefaultInputModes   []string `json:",omitempty"`
		DefaultOutputModes  []string `json:",omitempty"`
		Skills              []skill  `json:",omitempty"`
	}
	iface struct {
		URL             *string
		ProtocolBinding *string
		ProtocolVersion *string
		Tenant          string `json:",omitempty"`
	}
	capabilities struct {
		Streaming, PushNotifications, StateTransitionHistory, ExtendedAgentCard bool `json:",omitempty"`
	}
	skill struct {
		ID          *string
		Name        *string
		Description string   `json:",omitempty"`
		Tags        []string `json:",omitempty"`
		InputModes  []string `json:",omitempty"`
		OutputModes []string `json:",omitempty"`
	}
	taskJSON struct {
		ID        *string
		ContextID *string
		Status    *status
		Artifacts []artifact `json:",omitempty"`
		History   []message  `json:",omitempty"`
	}
	status struct {
		State     *state
		Message   *message `json:",omitempty"`
		Timestamp string   `json:",omitempty"`
	}
	message struct {
		TaskID    string `json:",omitempty"`
		ContextID string `json:",omitempty"`
		MessageID *string
		Role      *role
		Parts     []part
	}
	part struct {
		Text string          `json:",omitempty"`
		Raw  string          `json:",omitempty"`
		URL  string          `json:",omitempty"`
		Data json.RawMessage `json:",omitempty"`
	}
	artifact struct {
		ArtifactID *string
		Name       string `json:",omitempty"`
		Parts      []part
	}
	sent struct {
		Task    *taskJSON `json:",omitempty"`
		Message *message  `json:",omitempty"`
	}
	event struct {
		Task         *taskJSON     `json:",omitempty"`
		Message      *message      `json:",omitempty"`
		StatusUpdate *statusUpdate `json:",omitempty"`
		ArtifactUp   *artifactUp   `json:"artifactUpdate,omitempty"`
	}
	statusUpdate struct {
		TaskID    *string
		ContextID *string
		Status    *status
	}
	artifactUp struct {
		TaskID    *string
		ContextID *string
		Artifact  *artifact
		Append    bool `json:",omitempty"`
		LastChunk bool `json:",omitempty"`
	}
	page struct {
		Tasks         []taskJSON
		TotalSize     *int
		PageSize      *int
		NextPageToken *string
	}
)

// state is one of the eight states of Awaken.
type state string

var states = []state{
	"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED",
	"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED",
}

// UnmarshalJSON implements json.Unmarshaler: an unknown state is an error, as for serde.
func (s *state) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*string)(s)); err != nil {
		return err
	}
	if !slices.Contains(states, *s) {
		return fmt.Errorf("unknown variant `%s`", *s)
	}
	return nil
}

// done reports whether Awaken's client stops polling a task in the state.
func (s state) done() bool { return slices.Index(states, s) >= 2 }

// role is one of the two roles of Awaken.
type role string

// UnmarshalJSON implements json.Unmarshaler.
func (r *role) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*string)(r)); err != nil {
		return err
	}
	if *r != "ROLE_USER" && *r != "ROLE_AGENT" {
		return fmt.Errorf("unknown variant `%s`", *r)
	}
	return nil
}

// decode decodes JSON like Awaken's serde: unknown members are ignored, a wrong type and a
// missing member are errors.
func decode[T any](b []byte) (T, error) {
	var v T
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&v); err != nil {
		return v, err
	}
	return v, complete(reflect.ValueOf(v))
}

// complete returns an error if a member that Awaken requires is missing.
func complete(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return complete(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := complete(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			lacks := (f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice) && v.Field(i).IsNil()
			if lacks && !strings.Contains(f.Tag.Get("json"), "omitempty") {
				return fmt.Errorf("missing field `%s`", f.Name)
			}
			if err := complete(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// textOf joins the texts of parts, like Awaken's client.
func textOf(parts []part) string {
	var texts []string
	for _, p := range parts {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
		case p.Data != nil:
			texts = append(texts, string(p.Data))
		}
	}
	return strings.Join(texts, "\n\n")
}
