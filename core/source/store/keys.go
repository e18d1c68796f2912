package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
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
	places []place // in the order in which they are asked; none: nothing is signed
	region string
	ask    *credentials.CredContext

	mu     sync.Mutex
	held   credentials.Value // the last that were found
	from   place             // where
	why    string            // there were none when somebody looked last
	looked time.Time         // when a refusal last made somebody look in vain
}

// place is where credentials may come from, by a name for messages.
type place struct {
	credentials.Provider
	name string
}

func (p place) where() string {
	if f, ok := p.Provider.(*profile); ok {
		return fmt.Sprintf("%s: %s: [%s]", p.name, f.Filename, f.Profile)
	}
	return p.name
}

// profile are the credentials of a file. It is read when they are wanted first, when they end by what it says, and when they are refused: not, as
// minio's own does where no end is said, before every request.
type profile struct {
	credentials.FileAWSCredentials
	ends bool
}

func newProfile(name string) *profile {
	return &profile{FileAWSCredentials: credentials.FileAWSCredentials{Profile: name}}
}

func (p *profile) RetrieveWithCredContext(ask *credentials.CredContext) (credentials.Value, error) {
	v, err := p.FileAWSCredentials.RetrieveWithCredContext(ask)
	p.ends = !v.Expiration.IsZero()
	if err != nil || v.AccessKeyID == "" && v.SecretAccessKey == "" {
		err = p.without(err)
	}
	return v, err
}

// without says why the file has no keys, in our own words: those of its parser hold lines of it.
func (p *profile) without(err error) error {
	text, unread := os.ReadFile(p.Filename)
	switch at := (*fs.PathError)(nil); {
	case p.Filename == "":
		return errors.New("no home directory to look for it in")
	case errors.As(unread, &at):
		return fmt.Errorf("%s: %w", p.Filename, at.Err)
	case !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool { return strings.TrimSpace(line) == "["+p.Profile+"]" }):
		return fmt.Errorf("%s: no profile [%s]", p.Filename, p.Profile)
	case errors.As(err, new(*exec.ExitError)) || errors.As(err, new(*exec.Error)) || errors.As(err, new(*fs.PathError)):
		return fmt.Errorf("%s: credential_process of [%s]: %w", p.Filename, p.Profile, err)
	case err != nil:
		return fmt.Errorf("%s: [%s] cannot be read; want lines such as aws_access_key_id = ID", p.Filename, p.Profile)
	}
	return fmt.Errorf("%s: [%s] has no keys; roles, single sign-on and ~/.aws/config are not looked up here: "+
		"`aws configure export-credentials --profile %s --format env` makes keys of them", p.Filename, p.Profile, p.Profile)
}

func (p *profile) IsExpired() bool { return p.ends && p.FileAWSCredentials.IsExpired() }

// findKeys says where credentials come from. It looks for none yet.
func findKeys(o *Options) *keys {
	if o.Anonymous {
		return &keys{region: o.Region}
	}
	client := &http.Client{Timeout: o.Timeout}
	places := []place{{&credentials.EnvAWS{}, "the environment"}, {newProfile(o.Profile), "the credentials file"}}
	if o.Profile != "" { // who names a profile means it
		places = places[1:]
	}
	if cmp.Or(os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")) != "" {
		places = append(places, place{&credentials.IAM{Client: client}, "the container's service"})
	}
	return &keys{places: places, region: o.Region, ask: &credentials.CredContext{Client: client}}
}

// look asks where credentials come from. A file that is gone or torn for a moment leaves what was found before. Half of a pair is somebody's
// mistake: no other place is asked then.
func (k *keys) look() {
	var why []string
	for _, p := range k.places {
		v, err := p.RetrieveWithCredContext(k.ask)
		text := "no keys"
		switch {
		case err != nil:
			text = fmt.Sprintf("%.300s", err.Error())
		case v.AccessKeyID != "" && v.SecretAccessKey != "":
			k.held, k.from = v, p
			return
		case v.AccessKeyID != "":
			k.why = p.where() + ": an access key id without its secret access key; set both"
			return
		case v.SecretAccessKey != "":
			k.why = p.where() + ": a secret access key without its access key id; set both"
			return
		}
		why = append(why, p.name+": "+text)
	}
	k.why = strings.Join(why, "; ")
}

// sign signs a request as S3 wants it.
func (k *keys) sign(r *http.Request) (again func(error) bool, err error) {
	if k.places == nil {
		return never, nil
	}
	k.mu.Lock()
	if k.held.AccessKeyID == "" || k.from.IsExpired() {
		k.look()
	}
	v, why := k.held, k.why
	k.mu.Unlock()
	if v.AccessKeyID == "" {
		return nil, &Error{Cause: Permission, Detail: "found no credentials (" + why + "); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
			"name a profile that has both, or say anonymous: true"}
	}
	r.Header.Del("Authorization")
	r.Header.Del("X-Amz-Security-Token")
	if r.Header.Get(contentSum) == "" {
		r.Header.Set(contentSum, emptySum)
	}
	*r = *signer.SignV4(*r, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, k.region)
	return func(refused error) bool { return unwelcome(refused) && k.others(v) }, nil
}

// never is what to say of a request that nobody has signed.
func never(error) bool { return false }

// others reports whether there are other credentials now than those that were refused, and looks for them where they come from.
func (k *keys) others(refused credentials.Value) bool {
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
