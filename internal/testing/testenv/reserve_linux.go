package testenv

import (
	"io"
	"net"
)

// reserve reserves a name on the machine with an abstract socket, which ends with its process.
func reserve(name string) (io.Closer, error) {
	return net.ListenUnix("unixpacket", &net.UnixAddr{Name: "@" + name, Net: "unixpacket"})
}
