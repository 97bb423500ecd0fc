package cli

// pushCmd is the family of commands about webhooks.
type pushCmd struct {
	Listen pushListenCmd `cmd:"" help:"Be a webhook: print the notifications that arrive."`
}
