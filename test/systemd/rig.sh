#!/usr/bin/env bash
# systemd as PID 1 on this machine's kernel, without a virtual machine and without systemd on the host: a small Debian
# root, made once, boots in namespaces of its own over an overlay, runs a folder's inside.sh and powers off.
# usage: rig.sh root         makes the root (a minute or two, 250 MB in the user's cache folder)
#        rig.sh boot FOLDER  boots it with FOLDER at /payload; FOLDER/out.log gets the output, last line RIG-EXIT=STATUS
# Needs root, a cgroup2 mount and overlayfs. CAPD_RIG_SUITE picks the Debian release (bookworm: systemd 252).
set -euo pipefail
suite=${CAPD_RIG_SUITE:-bookworm}
rig=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/capd-systemd-rig
root=$rig/$suite

make_root() {
	mkdir -p "$rig"
	exec 9>"$rig/$suite.lock"
	flock 9
	[ ! -d "$root" ] || return 0
	local mirror new=$rig/$suite.new
	# shellcheck disable=SC2016 # apt expands it
	mirror=$(apt-get indextargets --format '$(REPO_URI)' | sed -n 1p) # the host's own first source
	rm -rf --one-file-system "$new"
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,procps "$suite" "$new" "$mirror"
	chroot "$new" systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
		systemd-timesyncd.service console-getty.service getty@tty1.service serial-getty@ttyS0.service
	echo rig >"$new/etc/hostname"
	: >"$new/etc/fstab"
	cat >"$new/etc/systemd/system/rig.service" <<-'U'
		[Unit]
		After=multi-user.target dbus.service
		[Service]
		Type=oneshot
		StandardOutput=file:/payload/out.log
		StandardError=inherit
		ExecStart=/bin/sh -c "bash /payload/inside.sh; echo RIG-EXIT=$$?"
		ExecStopPost=/bin/systemctl --no-block poweroff --force
		[Install]
		WantedBy=multi-user.target
	U
	chroot "$new" systemctl enable rig.service
	rm -rf "$new"/var/cache/apt/archives/*.deb
	mv "$new" "$root"
}

# In fresh namespaces: an overlay over the root becomes /, and systemd becomes PID 1. $work and $payload are folders.
boot_inside() {
	local m=$work/m d
	mount --make-rprivate /
	mount -t tmpfs tmpfs "$work"
	mkdir -p "$work/u" "$work/w" "$m"
	mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/u,workdir=$work/w" "$m"
	mount -t proc proc "$m/proc"
	mount -t sysfs sysfs "$m/sys"
	mount -t cgroup2 cgroup2 "$m/sys/fs/cgroup"
	mount -t tmpfs -o mode=755 tmpfs "$m/run"
	mount -t tmpfs -o mode=755 tmpfs "$m/dev"
	mkdir -p "$m/dev/pts" "$m/dev/shm" "$m/payload"
	for d in null zero full random urandom tty; do
		mknod -m 666 "$m/dev/$d" c "$(stat -c %Hr "/dev/$d")" "$(stat -c %Lr "/dev/$d")"
	done
	mount -t devpts -o newinstance,ptmxmode=666 devpts "$m/dev/pts"
	ln -s pts/ptmx "$m/dev/ptmx"
	mount -t tmpfs tmpfs "$m/dev/shm"
	ln -s /proc/self/fd "$m/dev/fd"
	ln -s /proc/self/fd/0 "$m/dev/stdin"
	ln -s /proc/self/fd/1 "$m/dev/stdout"
	ln -s /proc/self/fd/2 "$m/dev/stderr"
	mount --bind "$payload" "$m/payload"
	cd "$m"
	mkdir -p .old
	pivot_root . .old
	umount -l /.old
	mount --make-rshared / # units with private mounts need it
	container=rig exec /lib/systemd/systemd --system --show-status=0 --log-target=null
}

# boot FOLDER: a cgroup of its own, new namespaces, a time limit, and no trace afterwards.
# Only SIGKILL ends unshare, and its child with it.
boot() {
	payload=$(realpath "$1")
	work=$(mktemp -d "$rig/boot.XXXXXX")
	cgroup=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)/rig.$$
	mkdir "$cgroup"
	trap 'find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
	export root payload work
	(
		echo $BASHPID >"$cgroup/cgroup.procs"
		exec timeout -s KILL 300 unshare --pid --mount --uts --ipc --cgroup --net --fork --kill-child \
			bash -euc "$(declare -f boot_inside); boot_inside"
	) || true # powering off ends PID 1 by a signal
}

case ${1:-} in
root) make_root ;;
boot) boot "$2" ;;
*) sed -n 's/^# usage/usage/p' "$0" >&2; exit 2 ;;
esac
