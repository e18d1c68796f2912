package store

import (
	"errors"
	"strings"
	"testing"
)

func TestProxyThatNobodyCanBeSentToIsRefused(t *testing.T) {
	s := serve(t, nil)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "http://me:secret@[proxy:3128")
		_, err := client(t, Options{Retries: 5}).Stat(background, s.URL+"/data")
		var e *Error
		if !errors.As(err, &e) || e.Attempts != 1 || !strings.Contains(e.Error(), "$"+name+" is no URL") || strings.Contains(e.Error(), "secret") {
			t.Errorf("got %v", err)
		}
		t.Setenv(name, "")
	}
	for _, good := range []string{"proxy:3128", "proxy", "http://proxy:3128", "socks5://me:secret@127.0.0.1:1080", "127.0.0.1:3128"} {
		t.Setenv("HTTPS_PROXY", good)
		if _, err := client(t, Options{}).Stat(background, s.URL+"/data"); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}
