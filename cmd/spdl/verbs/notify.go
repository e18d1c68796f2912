package verbs

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// notifyPatience is how long a manager may take whose queue of messages is full. It reads them as they come.
const notifyPatience = time.Second

// What a service tells its manager, in sd_notify(3)'s words.
const (
	serviceReady    = "READY=1"
	serviceStopping = "STOPPING=1"
)

// notify tells the service manager that started this process, where there is one that listens (systemd's Type=notify), how far it is. A
// manager that cannot be told is no reason not to serve; the error is for the log.
func notify(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	if strings.HasPrefix(path, "@") { // an abstract name
		path = "\x00" + path[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("the service manager is not told of %s: %w", state, err)
	}
	defer conn.Close()
	err = conn.SetWriteDeadline(time.Now().Add(notifyPatience))
	if err == nil {
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		return fmt.Errorf("the service manager is not told of %s: %w", state, err)
	}
	return nil
}
