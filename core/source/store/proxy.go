package store

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// errProxy marks a proxy in the environment that nobody can be sent to.
var errProxy = errors.New("proxy refused")

// proxy is http.ProxyFromEnvironment, which passes over a value that is no URL as if there were none, or makes a host of its scheme:
// requests that a proxy should carry would go out by themselves.
func proxy(r *http.Request) (*url.URL, error) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		if v := os.Getenv(name); v != "" && !namesHost(v) {
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
	return err == nil && u.Host != ""
}
