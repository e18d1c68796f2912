package store

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// lookAgain is how long refusals make nobody look for other credentials after they did in vain: where a whole prefix is forbidden,
// each of its objects is refused.
const lookAgain = 10 * time.Second

// keys are the credentials that requests are signed with. They may end while we run, and be others by then where they came from.
type keys struct {
	from *credentials.Chain // nil: nothing is signed
	ask  *credentials.CredContext

	mu     sync.Mutex
	held   credentials.Value // the last that were found
	looked time.Time         // when a refusal last made somebody look in vain
}

// profile are the credentials of a file. It is read when they are wanted first, when they end by what it says, and when they are refused: not, as
// minio's own does where no end is said, before every request.
type profile struct {
	credentials.FileAWSCredentials
	ends bool
}

func (p *profile) RetrieveWithCredContext(ask *credentials.CredContext) (credentials.Value, error) {
	v, err := p.FileAWSCredentials.RetrieveWithCredContext(ask)
	p.ends = !v.Expiration.IsZero()
	return v, err
}

func (p *profile) IsExpired() bool { return p.ends && p.FileAWSCredentials.IsExpired() }

// findKeys says where credentials come from. It looks for none yet.
func findKeys(o *Options) *keys {
	if o.Anonymous {
		return &keys{}
	}
	client := &http.Client{Timeout: o.Timeout}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &profile{FileAWSCredentials: credentials.FileAWSCredentials{Profile: o.Profile}}}
	if o.Profile != "" { // who names a profile means it
		providers = providers[1:]
	}
	if cmp.Or(os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")) != "" {
		providers = append(providers, &credentials.IAM{Client: client})
	}
	return &keys{from: &credentials.Chain{Providers: providers}, ask: &credentials.CredContext{Client: client}}
}

// look asks where credentials come from. A file that is gone or torn for a moment leaves what was found before.
func (k *keys) look() {
	if v, err := k.from.RetrieveWithCredContext(k.ask); err == nil && v.AccessKeyID != "" {
		k.held = v
	}
}

// sign signs a request anew, and says with what.
func (k *keys) sign(r *http.Request, region string) (credentials.Value, error) {
	if k.from == nil {
		return credentials.Value{}, nil
	}
	k.mu.Lock()
	if k.held.AccessKeyID == "" || k.from.IsExpired() {
		k.look()
	}
	v := k.held
	k.mu.Unlock()
	if v.AccessKeyID == "" {
		return v, &Error{Cause: Permission, Detail: "found no credentials in the environment or the credentials file; set AWS_ACCESS_KEY_ID " +
			"and AWS_SECRET_ACCESS_KEY, name a profile, or say anonymous: true"}
	}
	r.Header.Del("Authorization")
	r.Header.Del("X-Amz-Security-Token")
	r.Header.Set("X-Amz-Content-Sha256", emptySum)
	*r = *signer.SignV4(*r, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, region)
	return v, nil
}

// others reports whether there are other credentials now than those that were refused, and looks for them where they come from.
func (k *keys) others(refused credentials.Value) bool {
	if k.from == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !same(k.held, refused) {
		return true // somebody has looked meanwhile
	}
	if !k.looked.IsZero() && time.Since(k.looked) < lookAgain {
		return false
	}
	k.look()
	if same(k.held, refused) {
		k.looked = time.Now()
		return false
	}
	k.looked = time.Time{} // those may end as soon as they like
	return true
}

func same(a, b credentials.Value) bool {
	return a.AccessKeyID == b.AccessKeyID && a.SecretAccessKey == b.SecretAccessKey && a.SessionToken == b.SessionToken
}

// unwelcome reports whether an answer may come of credentials that have ended. S3 says so by 400, others by 401 or 403; to HEAD without a word.
func unwelcome(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}
