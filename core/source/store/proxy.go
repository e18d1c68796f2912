package store

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// errProxy marks a proxy in the environment that nobody can be sent to.
var errProxy = errors.New("proxy refused")

// proxy is http.ProxyFromEnvironment, which passes over a value that is no URL as if there were none, or makes a host of its scheme:
// requests that a proxy should carry would go out by themselves.
func proxy(r *http.Request) (*url.URL, error) {
	scheme := strings.ToUpper(r.URL.Scheme)
	for _, name := range []string{scheme + "_PROXY", strings.ToLower(scheme) + "_proxy"} {
		if v := os.Getenv(name); v != "" && !namesHost(v) && !bypassed(r.URL.Hostname()) {
			return nil, fmt.Errorf("%w: $%s is no URL such as http://proxy.example.com:3128; set it right, or unset it", errProxy, name)
		}
	}
	return http.ProxyFromEnvironment(r)
}

func namesHost(text string) bool {
	if !strings.Contains(text, "://") { // as others read it, too
		text = "http://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && !strings.HasSuffix(u.Host, ":") // http:/proxy has the host http:
}

// bypassed is what no proxy is asked for: this machine, and where $NO_PROXY says anything.
func bypassed(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback() || os.Getenv("NO_PROXY") != "" || os.Getenv("no_proxy") != ""
}
