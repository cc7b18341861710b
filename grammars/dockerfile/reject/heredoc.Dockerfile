FROM a
RUN <<EOF
echo
EOF
