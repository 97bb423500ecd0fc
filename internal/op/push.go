package op

import "github.com/a2aproject/a2a-go/v2/a2a"

// PushConfig is CreateTaskPushNotificationConfig.
type PushConfig struct {
	Target
	TaskID a2a.TaskID
	// ID is the id that the caller chose, or empty.
	ID  string
	URL string
	// Token is sent with each notification; empty means none.
	Token string
	// Scheme and Credentials authenticate the hub at the webhook; empty if it needs
	// no authentication.
	Scheme, Credentials string
	// Dialect is the wire shape of the notifications to the webhook; zero is v1.0.
	Dialect uint8
}

// PushRef is GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig.
type PushRef struct {
	Target
	TaskID a2a.TaskID
	ID     string
}

// PushList is ListTaskPushNotificationConfigs.
type PushList struct {
	Target
	TaskID a2a.TaskID
	// PageSize is the largest number of configs to return; zero means the hub's default.
	PageSize  int
	PageToken string
}

// ExtendedCard is GetExtendedAgentCard.
type ExtendedCard struct {
	Target
	// Always is set if the caller's dialect has the operation on every server, regardless of
	// the card. An agent without an extended card then answers with its public card.
	Always bool
}
