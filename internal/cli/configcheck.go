package cli

import "fmt"

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Report errors and outdated keys in the configuration file."`
}

type configCheckCmd struct {
	storeFlags
	File string `arg:"" optional:"" help:"The configuration file, instead of --config." type:"path"`
}

// Run reads the configuration as parley serve does, which starts nothing.
func (c *configCheckCmd) Run(o *OS) error {
	if c.File != "" {
		c.Config = c.File
	}
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	for _, notice := range cfg.Notices() {
		fmt.Fprintf(o.Stderr, "notice: %s\n", printable(notice))
	}
	if o.Quiet {
		return nil
	}
	if cfg.File == "" {
		_, err = fmt.Fprintln(o.Stdout, "No configuration file; parley serve uses the defaults.")
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "%s is valid\n", printable(cfg.File))
	return err
}
