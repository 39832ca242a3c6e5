package ubuntu

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// cloudConfig is the part of #cloud-config that is understood; the rest is ignored, as cloud-init warns and goes on.
type cloudConfig struct {
	Hostname string `yaml:"hostname"`
	Password string `yaml:"password"`
	Chpasswd struct {
		List  any `yaml:"list"`
		Users []struct {
			Name     string `yaml:"name"`
			Password string `yaml:"password"`
		} `yaml:"users"`
	} `yaml:"chpasswd"`
	Keys  []string `yaml:"ssh_authorized_keys"`
	Files []struct {
		Path        string `yaml:"path"`
		Content     string `yaml:"content"`
		Permissions string `yaml:"permissions"`
	} `yaml:"write_files"`
	RunCmd []any `yaml:"runcmd"`
}

// CloudInit does what user data says, once: a #cloud-config document or a script. `cloud-init status --wait` waits
// for its end.
func (o *OS) CloudInit(ctx context.Context, data []byte, user string) {
	v := o.root()
	const done = "/var/lib/cloud/instance/boot-finished"
	_ = v.Remove(done)
	defer func() { _ = v.WriteFile(done, []byte("cloud-init finished\n"), 0o644) }()
	text := string(data)
	switch {
	case strings.HasPrefix(text, "#!"):
		_ = v.MkdirAll("/var/lib/cloud/instance/scripts", 0o755)
		_ = v.WriteFile("/var/lib/cloud/instance/scripts/part-001", data, 0o700)
		o.Run(ctx, "/var/lib/cloud/instance/scripts/part-001")
	case strings.HasPrefix(text, "#cloud-config"):
		var c cloudConfig
		if err := yaml.Unmarshal(data, &c); err != nil {
			o.log(fmt.Sprintf("cloud-init: failed loading yaml: %v", err))
			return
		}
		o.apply(ctx, c, user)
	}
}

func (o *OS) apply(ctx context.Context, c cloudConfig, user string) {
	v := o.root()
	if c.Hostname != "" {
		o.Sys.SetHostname(c.Hostname)
		_ = v.WriteFile("/etc/hostname", []byte(c.Hostname+"\n"), 0o644)
	}
	if c.Password != "" {
		o.SetPassword(user, c.Password)
	}
	var pairs []string
	switch l := c.Chpasswd.List.(type) {
	case string:
		pairs = strings.Split(l, "\n")
	case []any:
		for _, x := range l {
			pairs = append(pairs, fmt.Sprint(x))
		}
	}
	for _, u := range c.Chpasswd.Users {
		pairs = append(pairs, u.Name+":"+u.Password)
	}
	for _, p := range pairs {
		if name, pw, ok := strings.Cut(strings.TrimSpace(p), ":"); ok {
			o.SetPassword(name, pw)
		}
	}
	if a, ok := o.Sys.Account(user); ok && len(c.Keys) > 0 {
		o.appendTo(a.Home+"/.ssh/authorized_keys", strings.Join(c.Keys, "\n")+"\n")
	}
	for _, f := range c.Files {
		mode, err := strconv.ParseUint(f.Permissions, 8, 32)
		if err != nil {
			mode = 0o644
		}
		_ = v.MkdirAll(path.Dir(f.Path), 0o755)
		_ = v.WriteFile(f.Path, []byte(f.Content), 0o644)
		_ = v.Chmod(f.Path, fs.FileMode(mode)&fs.ModePerm)
	}
	for _, cmd := range c.RunCmd {
		switch cmd := cmd.(type) {
		case string:
			o.Run(ctx, cmd)
		case []any:
			var words []string
			for _, w := range cmd {
				words = append(words, "'"+strings.ReplaceAll(fmt.Sprint(w), "'", `'\''`)+"'")
			}
			o.Run(ctx, strings.Join(words, " "))
		}
	}
}
