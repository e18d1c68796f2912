package store

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestProxyThatNobodyCanBeSentToIsRefused(t *testing.T) {
	for _, c := range []struct{ name, value, url, refused string }{
		{"HTTP_PROXY", "http://me:secret@[proxy:3128", "http://data.example.com/x", "$HTTP_PROXY is no URL"},
		{"http_proxy", "http:/proxy:3128", "http://data.example.com/x", "$http_proxy is no URL"},
		{"HTTPS_PROXY", "direct://", "https://data.example.com/x", "$HTTPS_PROXY is no URL"},
		{"https_proxy", "://", "https://data.example.com/x", "$https_proxy is no URL"},
		{"HTTPS_PROXY", "direct://", "http://data.example.com/x", ""},
		{"HTTP_PROXY", "direct://", "http://127.0.0.1:1/x", ""},
		{"HTTP_PROXY", "direct://", "http://localhost/x", ""},
	} {
		t.Setenv("NO_PROXY", "")
		t.Setenv("no_proxy", "")
		t.Setenv(c.name, c.value)
		r, err := http.NewRequest(http.MethodGet, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = proxy(r)
		if said := err != nil; said != (c.refused != "") || said && (!errors.Is(err, errProxy) || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v: %v", c, err)
		}
		t.Setenv("NO_PROXY", "data.example.com")
		if _, err := proxy(r); errors.Is(err, errProxy) {
			t.Errorf("%+v: %v beside NO_PROXY", c, err)
		}
		t.Setenv(c.name, "")
	}
	for _, good := range []string{"proxy:3128", "proxy", "http://proxy:3128", "socks5://me:secret@127.0.0.1:1080", "127.0.0.1:3128"} {
		if !namesHost(good) {
			t.Errorf("%s is refused", good)
		}
	}
}
