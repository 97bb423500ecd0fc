package testenv

import (
	"io"
	"net"
)

// reserve takes a name of the machine: a socket without a file, which ends with its process.
func reserve(name string) (io.Closer, error) {
	return net.ListenUnix("unixpacket", &net.UnixAddr{Name: "@" + name, Net: "unixpacket"})
}
